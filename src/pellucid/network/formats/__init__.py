"""Networks of other libraries: one file per library, which alone imports it."""
