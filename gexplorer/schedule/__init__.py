"""The schedule: what must come before what, on which stream it runs, when, and the proof that no two streams race.

``dependencies`` has the edges, ``streams`` and ``list_schedule`` give each kernel a stream, ``events`` synchronises
them, ``timeline`` says when each kernel runs, ``proof`` hands it all to the memory stage's verifier.
"""
