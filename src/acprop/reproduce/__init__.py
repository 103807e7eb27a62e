"""The main job: claims, figures and studies → records → one page.

Everything long is here, behind functions that return values: they use the one pool of
processes (acprop.bench.workers) and the one progress bar (acprop.progress).
"""
