"""Tables, their folds, the programs that are compared on them, and what is said about them."""
