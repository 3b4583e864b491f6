#!/bin/sh
# Puts the project's own documentation live from a git repository, three commits
# long: a quick sync, a pipeline with a check and a wait, and one whose check
# fails and that is rolled back. Ends with a table of the three and the target of
# the link that a web server would serve.
set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
target=${STAGEWRIGHT_TARGET:-$project/target}
demo=$target/demo
PATH=$target/debug:$PATH
rm -rf "$demo"
mkdir -p "$demo/plugins" "$demo/www" "$demo/repository/pages"
for plugin in site script wait; do
    cp "$target/wasm32-wasip2/plugin/$plugin.wasm" "$demo/plugins/"
done

# What the operator writes: where the site goes, and what each plugin may touch.
cat > "$demo/stagewright.yaml" <<'YAML'
pluginsDirectory: plugins
stateFile: state/stagewright.db
plugins:
  site:
    deployTargets:
      - name: local
        config: { directory: /www }
    allow:
      filesystem:
        - { host: www, guest: /www, access: read-write }
  script:
    allow:
      commands: [/bin/sh]
YAML

# What the team writes: an application, in a repository beside its files.
cd "$demo/repository"
cat > app.pipecd.yaml <<'YAML'
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: documentation
  plugins:
    site:
      directory: pages
  pipeline:
    stages:
      - name: SITE_STAGE
      - name: SCRIPT_RUN
        desc: Every link between pages must lead somewhere
        timeout: 1m
        with:
          run: sh check-links pages
      - name: WAIT
        with:
          duration: 3s
      - name: SITE_PROMOTE
YAML
cat > check-links <<'SH'
cd "$1"
status=0
for page in $(find . -name '*.md' | sort); do
    for link in $(grep -o ']([A-Za-z0-9_./-]*\.md)' "$page" | sed 's/^](//; s/)$//' | sort -u); do
        if [ ! -f "$(dirname "$page")/$link" ]; then
            echo "$page: the link $link leads nowhere" >&2
            status=1
        fi
    done
done
[ $status -eq 0 ] && echo "$(find . -name '*.md' | wc -l) pages, every link leads somewhere"
exit $status
SH
git() { command git -c user.name=Demo -c user.email=demo@localhost.invalid "$@"; }
git -c init.defaultBranch=main init --quiet
commit() { git add --all && git commit --quiet --message "$1"; }

cp -R "$project/docs/." pages/
printf '# Start\n\nRead the [architecture](architecture.md).\n' > pages/start.md
commit "Publish the documentation"

printf '# Welcome\n\nRead the [architecture](architecture.md).\n' > pages/index.md
rm pages/start.md
commit "Greet readers on an index page"

printf '# Welcome\n\nRead the [architecture](the-architecture.md).\n' > pages/index.md
printf '# News\n\nNone.\n' > pages/news.md
rm pages/architecture.md
commit "Break a link"

cd "$demo"
for commit in main~2 main~1 main; do
    printf '\n$ stagewright run repository/app.pipecd.yaml --commit %s\n' "$commit"
    # The last one is meant to fail: its exit code is 1, and any other ends the
    # demo.
    code=0
    stagewright run repository/app.pipecd.yaml --commit "$commit" || code=$?
    case $commit-$code in main-1 | main~?-0) ;; *) exit "$code" ;; esac
done

printf '\n$ stagewright deployments\n'
stagewright deployments
printf '\n$ readlink www/current\n'
readlink www/current

# The link leads to the second commit's release, and its pages are whole.
live=$(readlink www/current)
case $live in
    releases/$(git -C repository rev-parse main~1)*) ;;
    *) echo "the link leads to $live" >&2; exit 1 ;;
esac
[ -f www/current/index.md ] && [ ! -f www/current/start.md ]
