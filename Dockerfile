# The forklake command (and, with the cluster's part, the operator). spark_images/ is for the jobs.
ARG BASE_IMAGE=docker.io/library/python:3.12-slim
FROM ${BASE_IMAGE} AS build
WORKDIR /src
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY operator operator
COPY crds crds
RUN python3 -m venv /opt/forklake \
    && grep -vE '^(mypy|mypy_extensions|pytest|pytest-xdist|hypothesis|ruff|execnet|types-PyYAML)==' requirements.lock > /tmp/requirements.txt \
    && /opt/forklake/bin/pip install --no-cache-dir -r /tmp/requirements.txt \
    && /opt/forklake/bin/pip install --no-cache-dir --no-deps .

FROM ${BASE_IMAGE}
COPY --from=build /opt/forklake /opt/forklake
ENV PATH=/opt/forklake/bin:$PATH
USER 65532:65532
ENTRYPOINT ["forklake"]
