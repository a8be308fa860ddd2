"""Walks over the whole product: random experiments, what is done with them, and what must hold.

python -m walker --seed 7 --minutes 10 --product .
"""
