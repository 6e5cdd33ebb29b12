# With args: --hold=0 the job ends here. A second one goes on, in the same conversation.
echo '<goto after="1m">RECALL.md</goto>'
