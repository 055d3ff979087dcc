"""The solvers: from noisy answers to counts that are whole, non-negative and add up.

Nothing here sees true counts or draws noise; a contract on imports keeps it so.
"""
