# Lists the items, and starts a worker for each. Each worker can run on a separate runner: WORK.md belongs to the
# job "work", and this state and REPORT.sh belong to the job "main".
# raymond: many_forks=true

set -eu

# One item per line: the value of --input, or else the top folders of the repository.
items=$(<"$RAYMOND_RESULT_FILE") # the variable RAYMOND_INPUT ends at 64 KiB
if [ -z "${items//[[:space:]]/}" ]; then
	items=$(git ls-tree -d --name-only HEAD)
fi

attribute() { sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
most=${RAYMOND_VAR_MOST:-64}
count=0
while IFS= read -r item; do
	[ -n "${item//[[:space:]]/}" ] || continue
	count=$((count + 1))
	if ((count > most)); then
		echo "more than $most items: the others are left out" >&2
		break
	fi
	item=$(attribute <<<"$item")
	echo "<fork next=\"JOIN.sh\" item=\"$item\">WORK.md</fork>"
done <<<"$items"
if ((count == 0)); then
	echo "<result>There is nothing to do.</result>"
fi
