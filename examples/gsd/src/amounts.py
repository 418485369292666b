def amounts(dough):
    flour = dough / 1.67
    return {"flour": flour, "water": flour * 0.65, "salt": flour * 0.02}
