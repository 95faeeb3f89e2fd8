"""The checks of the validation stage, one a file; ``gexplorer.validation.checker`` finds them."""
