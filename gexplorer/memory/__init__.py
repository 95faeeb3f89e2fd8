"""Static memory planning: what lives when, who takes whose place, how far from the optimum, and is it safe.

``program`` reads a graph into columns, ``liveness`` says how long each buffer lives, ``problem`` is what a planner is
given, ``planners`` has one file a planner, ``verify`` checks a plan with code that shares nothing with them.
"""
