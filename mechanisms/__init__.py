"""The mechanisms that are attacked: one folder a family, the naive implementation beside the exact one."""
