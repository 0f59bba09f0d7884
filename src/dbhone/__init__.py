"""dbhone builds a faster database server from the same source, and proves it.

The folders of this package are the pipeline, in order:

    source        a source reference -> an immutable tree
    compilation   tree + variant + toolchain + profile -> build
    instance      where a subject keeps its data while it runs
    workload      drivers and suites: what a subject is asked to do
    capture       what a server logged -> a workload file
    measurement   records, probes, machine fingerprint, store
    verification  tests whether a build still answers right
    experiment    declaration -> plan -> execution
    analysis      samples in, effects and verdicts out
    tuner         the search for the best build
    package       a build -> a file to deploy, with its proof
    report        one view model, many formats
    serve         the runs as web pages, for reading
    cli           one file per command

``dbms`` holds what is known of each database system. Imports point one way;
``docs/architecture.md`` says which.
"""

__version__ = "0.1.0"
