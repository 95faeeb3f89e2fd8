"""The explorer live in a notebook: widgets over the same front end that the report has."""
