"""APScheduler 4 with its data store in PostgreSQL, as an adapter of kind job for lockchaos. It is one instance.

    pip install apscheduler==4.0.0a6 "sqlalchemy[asyncio]" "psycopg[binary]" sniffio
    lockchaos exam --job-cmd "python3 examples/jobs/apscheduler_job.py" --service postgres

All instances share one schedule. Whichever finds it due makes a job of it, and whichever is free executes that. lockchaos does the work between
the events run and done. docs/jobs.md says what the exam shows, docs/protocol.md#instances-of-a-scheduler is the protocol.
"""

import asyncio
import datetime
import json
import sys
import threading
import time
import uuid

from apscheduler import AsyncScheduler, JobOutcome, JobReleased, current_job
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.psycopg import PsycopgEventBroker
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.ext.asyncio import create_async_engine

printing = threading.Lock()


def say(message):
    with printing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


attempts = {}  # the name of a job's execution: when the request was about to be sent that claimed it
work = {}  # the name of the execution whose work goes on: its end, a future


class Store(SQLAlchemyDataStore):
    """The data store, which stamps its claims."""

    async def acquire_jobs(self, *args, **kwargs):
        attempt = time.monotonic_ns()
        jobs = await super().acquire_jobs(*args, **kwargs)
        for job in jobs:
            attempts[str(job.id)] = attempt
        return jobs


async def execute():
    """What the scheduler calls for a job: the work, which is lockchaos's."""
    job = current_job.get()
    run = str(job.id)
    work[run] = asyncio.get_running_loop().create_future()
    tick = round(job.scheduled_fire_time.timestamp() * 1000)
    say({"event": "run", "run": run, "tick": tick, "attempt_ns": attempts.pop(run)})
    try:
        await work[run]
    finally:
        del work[run]


def scheduler_of(hello):
    url = f"postgresql+psycopg://lockchaos@{hello['nodes'][0]}/postgres?sslmode=disable&connect_timeout=2"
    engine = create_async_engine(url)
    lease = hello["ttl_ms"] / 1000
    mine = set()

    def released(event):  # comes from all instances, through the event broker
        if event.scheduler_id == scheduler.identity and event.outcome is JobOutcome.success and event.job_id not in mine:
            mine.add(event.job_id)
            say({"event": "done", "run": str(event.job_id)})

    scheduler = AsyncScheduler(
        Store(engine), PsycopgEventBroker.from_async_sqla_engine(engine), identity=f"{hello['client']}-{uuid.uuid4()}",
        max_concurrent_jobs=1, lease_duration=lease,
        cleanup_interval=lease / 2)  # 15 minutes by default, for which a job of the dead keeps all others out
    return scheduler, released


async def schedule(hello, started):
    scheduler, released = scheduler_of(hello)
    every = datetime.timedelta(milliseconds=hello["every_ms"])
    for patience in range(50, -1, -1):
        try:
            async with scheduler:
                scheduler.event_broker.subscribe(released, {JobReleased})
                first = (int(time.time() * 1000) // hello["every_ms"] + 1) * hello["every_ms"] / 1000
                trigger = IntervalTrigger(microseconds=every // datetime.timedelta(microseconds=1),
                                          start_time=datetime.datetime.fromtimestamp(first, datetime.timezone.utc))
                await scheduler.add_schedule(execute, trigger, id="bill")  # the first instance's stays
                started.set_result(scheduler)
                await scheduler.run_until_stopped()
            return
        except Exception:  # a group of them: another instance makes the tables at the same time
            if started.done() or not patience:
                raise
            await asyncio.sleep(0.1)
            scheduler, released = scheduler_of(hello)


async def serve():
    loop, lines = asyncio.get_running_loop(), asyncio.Queue()

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, json.loads(line))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    running, scheduler = None, None
    while (request := await lines.get()) is not None:
        reply = {"id": request["id"], "ok": True}
        if request["op"] == "hello":
            started = loop.create_future()
            running = asyncio.create_task(schedule(request, started))
            await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
            scheduler = started.result() if started.done() else running.result()
            # a job may be its instance's for a lease, and is freed by a clean-up after that
            reply.update(name="APScheduler 4.0.0a6 with PostgreSQL", job="at-least-once", misfire="once",
                         handover_ms=int(2 * request["ttl_ms"]) + 1000)
        elif request["op"] == "go" and (end := work.get(request["run"])) and not end.done():
            end.set_result(None)
        elif request["op"] == "go":
            reply = {"id": request["id"], "ok": False, "error": "not_held"}
        elif request["op"] == "close":
            await scheduler.stop()
            await asyncio.wait({running}, timeout=2)
        else:
            reply = {"id": request["id"], "ok": False, "error": "unsupported"}
        say(reply)


asyncio.run(serve())
