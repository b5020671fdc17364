"""How well a decoder reconstructs."""

QUESTIONS = {"diagnose": "answer:DIAGNOSE"}
JOBS = {"diagnose": "service:DiagnoseJob"}
