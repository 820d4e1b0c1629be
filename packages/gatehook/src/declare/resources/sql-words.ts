/**
 * The words that SQLite or PostgreSQL reject as the name of a column or table. SQL contains
 * declared names without quotes, so a declaration must not use them. A test queries both databases.
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
const reservedWords = new Set(words.trim().split(/\s+/))

/** Returns whether a name needs quotes in the SQL of either database. */
export const isSqlWord = (name: string): boolean => reservedWords.has(name)

/**
 * Returns why a declaration cannot use a name: a look-up would find the member that each object
 * inherits, or SQL reserves it.
 */
export function findTakenName(name: string, isInSql = true): string | undefined {
  if (name in Object.prototype) {
    return 'every JavaScript object has a member of this name; choose another'
  }
  return isInSql && isSqlWord(name) ? 'is a reserved word of SQL; choose another name' : undefined
}
