/**
 * Words that SQLite or PostgreSQL would not take as the name of a column or a table. Names stand
 * in SQL as they are declared, so a declaration that uses one is refused with a sentence. A test
 * asks both databases. Pure.
 */
const words = `
  add all alter analyse analyze and any array as asc asymmetric authorization autoincrement
  between binary both case cast check collate collation column commit concurrently constraint
  create cross current_catalog current_date current_role current_schema current_time
  current_timestamp current_user default deferrable delete desc distinct do drop else end escape
  except exists false fetch for foreign freeze from full grant group having if ilike in index
  indexed initially inner insert intersect into is isnull join lateral leading left like limit
  localtime localtimestamp natural not notnull nothing null offset on only or order outer overlaps
  placing primary raise references returning right select session_user set similar some symmetric
  system_user table tablesample then to trailing transaction true union unique update user using
  values variadic verbose when where window with
`
const reserved = new Set(words.trim().split(/\s+/))

/** Whether a name can stand in SQL without quotes, on both databases. */
export const isSqlWord = (name: string): boolean => reserved.has(name)
