"""The paper's evaluation and more, each table and figure by one command.

    config -> plan -> runner -> store -> tables, figures

A config (one file in `configs`) names settings and methods, the plan turns it into tasks, the runner runs
those without a row in the store, and tables and figures are made from the rows alone.
"""
