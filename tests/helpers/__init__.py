"""What several tests share: where the vectors lie, a node as a subprocess, builders."""
