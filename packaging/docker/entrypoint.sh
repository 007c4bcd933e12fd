#!/bin/sh
# "dashboard URL" starts optuna-dashboard; everything else is a command of optuna-mofs.
if [ "$1" = dashboard ]; then
    shift
    exec optuna-dashboard --host 0.0.0.0 --port 8080 "$@"
fi
exec optuna-mofs "$@"
