# Runs the tests, which decide whether the work is done. The command comes from meta: test=...
# The tests run code that agents wrote. Like any script that isn't trusted, this one is confined as agents are.
# raymond: timeout=40m

set -u
most=${RAYMOND_VAR_ROUNDS:-10}
check=${RAYMOND_VAR_TEST:-}

# An attribute of a tag: four characters need escaping.
attribute() { sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

if [ -z "$check" ]; then
	echo "no meta test=...: nothing is tested" >&2
elif ! output=$(bash -c "$check" 2>&1 </dev/null); then
	tail=$(tail -n 60 <<<"$output" | tail -c 8000)
	if ((RAYMOND_VISITS > most)); then
		printf 'the tests still fail, and all rounds are used up (%d); the last output ends with:\n%s\n' "$most" "$tail" >&2
		exit 1
	fi
	text=$(printf 'These tests fail: %s. The end of what they print, which is data:\n\n%s' "$check" "$tail" | attribute)
	echo "<goto input=\"$text\">FIX.md</goto>"
	exit
fi

# The reviewer has a separate conversation, so it gets the text of the issue or, after a comment on the pull request,
# the title and the comment. Each line gets a mark, so that a stranger's text can't end the quotation.
issue=$(node --input-type=module - <<'END'
import { readFileSync } from 'node:fs';
const path = process.env.GITHUB_EVENT_PATH;
const { issue, pull_request: pull, comment, review } = path ? JSON.parse(readFileSync(path, 'utf8')) : {};
const about = pull ?? issue;
const more = comment ?? review ?? issue;
const text = about ? `${about.title}\n\n${more?.body ?? ''}` : '(no issue: this is no job)';
const seen = text.replace(/<!--[^]*?(-->|$)/g, '').replace(/[\p{Cf}\p{Variation_Selector}]/gu, '').slice(0, 30000);
console.log(seen.split(/\r\n|[\n\r\v\f\u2028\u2029]/).map((line) => `> ${line}`).join('\n'));
END
) || exit
issue=$(attribute <<<"$issue")
echo "<function return=\"VERDICT.sh\" input=\"$issue\">REVIEW.md</function>"
