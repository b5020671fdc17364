"""How well a decoder reconstructs."""

JOBS = {"diagnose": "service:DiagnoseJob"}
