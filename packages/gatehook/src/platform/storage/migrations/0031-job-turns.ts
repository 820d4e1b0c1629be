/** Finds the next customer with waiting jobs, and its jobs, so that customers take turns. */
const position = "CASE state WHEN 'waiting' THEN COALESCE(scope, 0) END"

export const jobTurns = `
CREATE INDEX gh_jobs_turn ON gh_jobs ((${position}), run_at, no)
  WHERE (${position}) IS NOT NULL;
`
