#!/bin/bash
# riverrun beside its peers, against one loopback server, in one run: CPU of the whole process, medians of three.
#
#   bench/compare.sh [PEER_PYTHON]
#
# PEER_PYTHON has the peers installed (pip install openai openai-agents pydantic-ai langchain langchain-openai agno
# strands-agents msgspec httpx); without it only riverrun is measured. Needs ../shared/bench for the peers' programs.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
peers=${1:-}
port=${PORT:-8177}
$python bench/server.py "$port" & server=$!
trap 'kill $server' EXIT
sleep 1

# of three JSON lines, the one whose CPU is in the middle
median() { python3 -c 'import json, sys; print(sorted(sys.stdin, key=lambda line: json.loads(line)["cpu_s"])[1], end="")'; }

for spec in "text-2000 10" "text-1 100" "tools-10-20 20"; do
  for _ in 1 2 3; do $python bench/stream.py $spec "$port"; done | median
  [ -n "$peers" ] || continue
  for peer in raw openai strands agno openai_agents langchain pydantic_ai; do
    case "$peer $spec" in "raw tools"* | "openai tools"*) continue ;; esac
    for _ in 1 2 3; do
      timeout 120 "$peers" ../shared/bench/bench_stream.py "$peer" $spec "$port" 2>/dev/null | tail -1
    done | median
  done
done
