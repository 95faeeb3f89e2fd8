"""Exact search for the smallest pool: a decision at one capacity, restarts that learn, a ladder of capacities."""
