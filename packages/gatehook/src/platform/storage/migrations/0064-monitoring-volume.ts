/**
 * The bytes of logged requests by their time, which bound the request log (§12.7). A row counts ten
 * seconds from `at`, in epoch seconds, on one node. Tables and files retain the space of deleted
 * rows, so that their own sizes cannot tell how much is stored.
 */
export const monitoringVolumeTable = `
CREATE TABLE gh_monitoring_volume (
  at {int} NOT NULL,
  node {text} NOT NULL,
  bytes {int} NOT NULL,
  PRIMARY KEY (at, node)
);
`

/** On SQLite the table is in the file of monitoring (`0020-monitoring.ts`). */
export const monitoringVolume = monitoringVolumeTable
  .split('\n')
  .map((line) => (line === '' ? '' : `{postgres} ${line}`))
  .join('\n')
