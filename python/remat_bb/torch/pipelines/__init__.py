"""Pipelines: the cut of a model into stages, and the plan of each stage."""

from .planned import Pipeline, pipeline

__all__ = ["Pipeline", "pipeline"]
