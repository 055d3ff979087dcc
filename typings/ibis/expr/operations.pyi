class InMemoryTable:
    name: str
