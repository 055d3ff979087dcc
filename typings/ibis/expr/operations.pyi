class InMemoryTable:
    name: str

class PhysicalTable: ...
