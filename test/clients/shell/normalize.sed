# What differs from run to run, and what only HBase's own server says: times, ids, stacks.
1,/^Version/d
s/^hbase:[0-9]+:[0-9]+> ?/> /
/^Took /d
/^ => |^=> /d
/^\tat /d
/^ *$/d
s/(NoSuchColumnFamilyException.* does not exist in) .*/\1 …/
s/timestamp=20[0-9][0-9]-[0-9-]+T[0-9:.]+/timestamp=NOW/g
s/[0-9]{13}/MILLIS/g
s/[0-9a-f]{32}/ENCODED/g
/^> exit$/d
