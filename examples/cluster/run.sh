#!/usr/bin/env bash
# A Spark cluster on this machine: a standalone master and two workers are started, `microcosm spark extract`
# runs on them, and all are stopped again, however it ends. On a real cluster only the addresses differ.
#
#   examples/cluster/run.sh INPUT OUT            the command, with --master
#   examples/cluster/run.sh --submit INPUT OUT   the same by spark-submit
#   examples/cluster/run.sh --packed environment.tar.gz INPUT OUT
#                                                the same, and the workers run the Python in this archive
#
# INPUT and OUT are paths that every worker sees. PYTHON is the Python with `causal-microcosm[spark]`: python3 if not
# given. Each worker needs that Python too: here it is the same file system; elsewhere, install it at the same
# path, or pack it once, `venv-pack -p ENVIRONMENT -o environment.tar.gz`, and let spark-submit bring it along
# (--packed).
set -euo pipefail

submit=
packed=
case "${1:-}" in
    --submit) submit=yes; shift ;;
    --packed) submit=yes; packed=${2:-}; shift; shift || true ;;
esac
[ $# = 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
input=$1 out=$2
python=$(command -v "${PYTHON:-python3}")
here=$(cd "$(dirname "$0")" && pwd)

# Java as `microcosm` finds it, and Spark as pip installed it.
JAVA_HOME=$("$python" -c 'from microcosm.spark.installation import find_java; print(find_java().home)')
SPARK_HOME=$("$python" -c 'import pyspark; print(pyspark.__path__[0])')
root=$("$python" -c 'import microcosm, pathlib; print(pathlib.Path(microcosm.__file__).parents[1])')
export JAVA_HOME SPARK_HOME PYSPARK_PYTHON="$python" SPARK_LOCAL_IP=127.0.0.1
here_path="$root${PYTHONPATH:+:$PYTHONPATH}" # where microcosm is not installed but checked out
if [ -n "$packed" ]; then unset PYTHONPATH; else export PYTHONPATH=$here_path; fi # what is packed has its own
logs=$(mktemp -d)
started=()

stop() {
    [ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$logs"
}
trap stop EXIT INT TERM

# spark-class CLASS ARGUMENTS in the background, with its log in a file; then wait until the log says PATTERN.
start() {
    local name=$1 pattern=$2
    shift 2
    "$SPARK_HOME/bin/spark-class" "$@" >"$logs/$name" 2>&1 &
    started+=($!)
    for _ in $(seq 300); do
        if grep -q "$pattern" "$logs/$name"; then return; fi
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.2
    done
    echo "$name did not start:" >&2
    tail -n 5 "$logs/$name" >&2
    exit 1
}

start master 'New state: ALIVE' org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0
master=$(sed -n "s/.*Starting Spark master at \(spark:.*\)/\1/p" "$logs/master")
for worker in one two; do
    start "$worker" 'Successfully registered with master' org.apache.spark.deploy.worker.Worker \
        --host 127.0.0.1 --cores 1 --memory 1g --webui-port 0 --work-dir "$logs/work-$worker" "$master"
done
echo "$master: two workers" >&2

archives=()
if [ -n "$packed" ]; then
    archives=(--archives "$packed#environment")
    export PYSPARK_DRIVER_PYTHON=$python PYSPARK_PYTHON=./environment/bin/python PYTHONPATH=$here_path
fi
if [ -n "$submit" ]; then
    "$SPARK_HOME/bin/spark-submit" --master "$master" --conf spark.driver.host=127.0.0.1 \
        --conf spark.driver.bindAddress=127.0.0.1 ${archives[@]+"${archives[@]}"} "$here/submit.py" extract "$input" --out "$out"
else
    "$python" -m microcosm spark extract "$input" --out "$out" --master "$master"
fi
echo "$(grep -l 'Asked to launch executor' "$logs/one" "$logs/two" | wc -l) workers ran it" >&2
