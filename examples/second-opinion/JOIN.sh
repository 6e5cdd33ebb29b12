echo '<join>COMPARE.sh</join>'
