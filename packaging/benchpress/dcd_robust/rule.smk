# Robust DCD as a module of Benchpress: copy this folder to workflow/rules/structure_learning_algorithms.
rule:
    name:
        module_name
    input:
        data=alg_input_data(),
    output:
        adjmat=alg_output_adjmat_path(module_name),
        time=alg_output_time_path(module_name),
        ntests=alg_output_ntests_path(module_name),
    container:
        None  # runs in the environment of Benchpress, where causal-dcd has to be installed
    script:
        "script.py"
