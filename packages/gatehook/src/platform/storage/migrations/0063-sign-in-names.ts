/**
 * A sign-in name is unique in a namespace (§4.8): the installation, -1, or a scope. The list of
 * people filters by the folded name.
 */
export const signInNames = `
ALTER TABLE gh_people ADD COLUMN namespace {int} NOT NULL DEFAULT -1;
DROP INDEX gh_people_folded;
DROP INDEX gh_people_username;
CREATE UNIQUE INDEX gh_people_names ON gh_people (namespace, folded);
CREATE INDEX gh_people_username ON gh_people (resource, folded);
ALTER TABLE gh_mail_tokens ADD COLUMN namespace {int} NOT NULL DEFAULT -1;
`
