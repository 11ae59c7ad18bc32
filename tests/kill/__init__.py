"""The kill test: processes that share suspended runs are killed at any moment, and nothing may be lost or done twice.

    python -m tests.kill sqlite --rounds 200 --seed 1

In a round, two processes carry three runs through two suspensions to their end, while they are killed or frozen and
started again. See shop.py for what a run is, inspection.py for what has to hold whenever all of them are dead.
"""
