# Reads the answer to the plan. Only a plain yes leads to IMPLEMENT.md.

set -eu

answer=$(<"$RAYMOND_RESULT_FILE") # the variable RAYMOND_RESULT ends at 64 KiB
word=$(tr '[:upper:]' '[:lower:]' <<<"$answer" | tr -d '[:space:].!')
case $word in
yes | y | ok | go | approved | lgtm)
	echo '<goto>IMPLEMENT.md</goto>'
	;;
no | n | stop | declined)
	echo '<result>The plan was declined, and nothing was changed.</result>'
	;;
*)
	# An attribute of a tag: four characters need escaping.
	wish=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$answer")
	echo "<goto input=\"$wish\">REVISE.md</goto>"
	;;
esac
