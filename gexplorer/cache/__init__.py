"""Compiled parts of models, kept on disk by what they were made of."""
