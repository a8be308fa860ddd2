"""A sweep on a Slurm cluster: the scheduler runs here, its workers are jobs.

    python examples/slurm.py sweep.toml runs/sweep

Needs `pip install 'fairway[dask]'`, the same build of Fairway on this machine and on the nodes.
"""

import sys

from dask_jobqueue import SLURMCluster

import fairway


def main() -> None:
    """Run the sweep with up to 16 jobs of 4 workers each."""
    file, out = sys.argv[1:]
    with SLURMCluster(
        queue="normal",  # the partition
        cores=4,
        processes=4,  # one worker to a core
        memory="8 GB",
        walltime="02:00:00",
        # Workers end before Slurm ends them, and hand back what they have not begun.
        worker_extra_args=["--lifetime", "115m", "--lifetime-stagger", "4m"],
    ) as cluster:
        cluster.adapt(maximum_jobs=16)
        fairway.run(file, out, dask=cluster.scheduler_address, quiet=False)


if __name__ == "__main__":
    main()
