"""The mechanisms that are attacked: one folder a family of mechanisms, the naive implementation beside the exact one."""
