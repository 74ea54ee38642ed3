"""Adapters: what other tools say, in the words of this benchmark."""
