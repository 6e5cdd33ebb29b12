# main waits until the three workers have ended. Waiting costs nothing, and doesn't block the workers, even
# with --max-parallel 1. SUM.sh gets their results as its payload.

echo '<join>SUM.sh</join>'
