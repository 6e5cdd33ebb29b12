# A run begins in the state 1_START. The stdout of a script is its message, which
# must contain exactly one tag: it names the next state. All other output is text.
#
# Several forks in one message need this line:
# raymond: many_forks=true

set -eu

n=${RAYMOND_INPUT:-300} # the value of --input
if [[ ! $n =~ ^[1-9][0-9]{0,5}$ ]]; then
	echo "--input $n: want a whole number from 1 to 999999" >&2
	exit 1 # ends the run; resume would try this state again
fi

# Each <fork> starts a new agent in ADD.sh; `from` and `to` are variables for it.
# This agent, main, continues in WAIT.sh.
third=$((n / 3))
cat <<END
Three workers add up 1 to $n.
<fork next="WAIT.sh" from="1" to="$third">ADD.sh</fork>
<fork next="WAIT.sh" from="$((third + 1))" to="$((2 * third))">ADD.sh</fork>
<fork next="WAIT.sh" from="$((2 * third + 1))" to="$n">ADD.sh</fork>
END
