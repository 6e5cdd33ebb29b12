#!/bin/bash
# A stub of the agent CLI. In the directory $STUB it records the arguments of each call
# (calls, a line each), the prompt (prompt.N) and the working directory (cwd.N). Its reply
# to the N-th call is the file reply.N, or else the text after "answer: " in the prompt,
# or else the file reply. cost.N is the cost. If fail.N exists, the stub writes it to
# stderr and exits with code 1.
if [ "$1" = --version ]; then
	echo "${STUB_VERSION:-2.1.330} (stub)"
	exit
fi
cd "$STUB" || exit
echo "$*" >>calls
n=$(($(wc -l <calls)))
cat >"prompt.$n"
echo "$OLDPWD" >"cwd.$n"
if [ -e "fail.$n" ]; then
	cat "fail.$n" >&2
	exit 1
fi
id= named=
while [ $# -gt 0 ]; do
	case $1 in
	--resume) id=${named:-$2} ;;
	--session-id) id=$2 named=$2 ;;
	esac
	shift
done
text=$(cat "reply.$n" 2>/dev/null || sed -n 's/^answer: //p' "prompt.$n")
[ -n "$text" ] || text=$(cat reply)
text=${text//\\/\\\\}
text=${text//\"/\\\"}
text=${text//$'\n'/\\n}
cost=$(cat "cost.$n" 2>/dev/null || echo 0.01)
cat <<END
{"type":"system","subtype":"init","session_id":"$id","model":"stub-1"}
{"type":"assistant","message":{"id":"m$n","model":"stub-1","content":[{"type":"text","text":"$text"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn","num_turns":1,"session_id":"$id","total_cost_usd":$cost,"modelUsage":{"stub-1":{"inputTokens":100,"outputTokens":20,"costUSD":$cost}}}
END
