/**
 * The functions that `sql` of own code may call on SQLite or PostgreSQL: they return one value of
 * their arguments. Functions of a team, those that return tables and those that run SQL are absent:
 * such a function can read any table.
 */
const names = `
  abs acos age array_agg array_length array_position array_to_string ascii asin atan atan2 avg
  bit_and bit_length bit_or bool_and bool_or btrim cardinality cast cbrt ceil ceiling char
  char_length character_length chr coalesce concat concat_ws corr cos count covar_pop covar_samp
  cume_dist date date_bin date_part date_trunc datetime decode degrees dense_rank div encode
  every exp extract first_value floor format glob greatest group_concat grouping hex if ifnull
  iif initcap instr json json_agg json_array json_array_length json_build_array
  json_build_object json_extract json_extract_path json_extract_path_text json_group_array
  json_group_object json_object json_object_agg json_patch json_quote json_remove json_replace
  json_set json_type json_typeof json_valid jsonb jsonb_agg jsonb_array_length jsonb_build_array
  jsonb_build_object jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_set
  jsonb_typeof julianday lag last_value lead least left length levenshtein like ln log log10
  log2 lower lpad ltrim make_date make_interval make_timestamp make_timestamptz max md5 median
  min mod mode normalize nth_value ntile nullif octet_length overlay percent_rank
  percentile_cont percentile_disc phraseto_tsquery pi plainto_tsquery position pow power printf
  quote radians random rank regexp_count regexp_instr regexp_like regexp_replace regexp_substr
  regr_intercept regr_slope repeat replace reverse right round row_number rpad rtrim sign
  similarity sin soundex split_part sqrt starts_with stddev stddev_pop stddev_samp strftime
  string_agg strpos substr substring sum tan time timediff to_char to_date to_hex to_json
  to_jsonb to_number to_timestamp to_tsquery to_tsvector total translate trim trunc ts_headline
  ts_rank ts_rank_cd typeof unaccent unhex unicode unistr unixepoch upper var_pop var_samp
  variance websearch_to_tsquery width_bucket word_similarity
`
const functions = new Set(names.trim().split(/\s+/))

export const isReadingFunction = (name: string): boolean => functions.has(name)

/** The words before a parenthesis that no database reads as a function: `IN (`, `VALUES (`. */
const words = `
  all and any array as between case distinct else end except exists from group having in intersect
  join lateral limit not offset on or row select some then union using values when where
`
const keywords = new Set(words.trim().split(/\s+/))

/** Words that can be functions, too, with the tokens before them that make them keywords. */
const placedKeywords: ReadonlyMap<string, readonly string[]> = new Map([
  ['by', ['group', 'order', 'partition']],
  ['cube', ['group by']],
  ['filter', [')']],
  ['over', [')']],
  ['rollup', ['group by']],
  ['sets', ['grouping']],
  ['varying', ['bit', 'char', 'character']],
])

/** @param before the two tokens before the word */
export function isSqlKeyword(name: string, before: readonly [string, string]): boolean {
  if (keywords.has(name)) return true
  const places = placedKeywords.get(name) ?? []
  return places.includes(before[1]) || places.includes(before.join(' '))
}
