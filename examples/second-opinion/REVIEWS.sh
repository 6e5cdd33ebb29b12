# Three reviewers look at the same work at once, each run by the agent that its state names. None of them knows how
# the work came about, or what the others say.
# raymond: many_forks=true

set -eu
diff=
if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
	# With an index of its own, git shows new files too, and the real index stays as it is.
	work=$(mktemp -d)
	trap 'rm -r "$work"' EXIT
	export GIT_INDEX_FILE=$work/index
	git read-tree HEAD
	git add --all
	diff=$(git diff --cached --no-ext-diff --no-textconv HEAD | head -c 200000 | tr -d '\0' | sed 's/^/> /')
fi

# What the tag carries is an attribute, so four characters need escaping.
diff=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$diff")
for reviewer in CLAUDE CODEX GEMINI; do
	echo "<fork next=\"JOIN.sh\" input=\"$diff\">REVIEW_$reviewer.md</fork>"
done
