"""A wheel with the command inside is for one kind of machine, whatever Python: a static program for Linux."""

import os
import platform

from setuptools import setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not os.path.exists(os.path.join("lockchaos", "bin", "lockchaos"))

    def get_tag(self):
        if self.root_is_pure:
            return super().get_tag()
        machine = os.environ.get("LOCKCHAOS_MACHINE", platform.machine())
        return "py3", "none", f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


setup(cmdclass={"bdist_wheel": Wheel})
