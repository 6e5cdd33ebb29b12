# The agents are at work now, and the run ends when the last of them does. What each
# came to is in its own result.
echo "<result>one agent for each issue found</result>"
