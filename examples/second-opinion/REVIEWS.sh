# Three reviewers look at the same work at once, each with the agent CLI that its state names. None of them knows the
# history of the work, or the other reviews.
# raymond: many_forks=true

set -eu
diff=
if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
	# With a separate index, git shows new files too, and the real index stays unchanged.
	work=$(mktemp -d)
	trap 'rm -r "$work"' EXIT
	export GIT_INDEX_FILE=$work/index
	git read-tree HEAD
	git add --all
	diff=$(git diff --cached --no-ext-diff --no-textconv HEAD | head -c 200000 | tr -d '\0' | sed 's/^/> /')
fi

# An attribute of a tag: four characters need escaping.
diff=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$diff")
for reviewer in CLAUDE CODEX GEMINI; do
	echo "<fork next=\"JOIN.sh\" input=\"$diff\">REVIEW_$reviewer.md</fork>"
done
