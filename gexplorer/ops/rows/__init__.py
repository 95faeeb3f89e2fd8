"""The operator table's data: one module a group of families."""
