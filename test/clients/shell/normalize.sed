/^Took /d
/^ => |^=> /d
/^$/d
s/seconds?: [0-9.]+/seconds/
s/timestamp=[0-9]{13}/timestamp=NOW/g
s/timestamp=[0-9]{4}-[0-9-]+T[0-9:.]+/timestamp=&/g
s/in [0-9.]+ seconds/in N seconds/
s/[0-9]{13}/MILLIS/g
s/[0-9a-f]{32}/ENCODED/g
s/[A-Za-z0-9.-]+,[0-9]+,MILLIS/SERVER/g
s/(127\.0\.0\.1|localhost)[:,][0-9]+/SERVER/g
